/** `holdfast/engine`: what a config folder of the message engine is written with. */
export type { InboundTransport, OutboundTransport } from "./engine/connection-transport.js";
export type { Hl7Flaw } from "./engine/core/hl7/flaws.js";
export type { Hl7Header } from "./engine/core/hl7/header.js";
export { Hl7Message, type Hl7Read, type SegmentPlace } from "./engine/core/hl7/message.js";
export type { Hl7Segment } from "./engine/core/hl7/segment.js";
export {
  type AckOptions,
  type Definition,
  defineHandler,
  defineInbound,
  defineOutbound,
  defineReference,
  defineRouter,
  type HandlerContext,
  type HandlerDefinition,
  type HandlerOptions,
  type InboundDefinition,
  type InboundOptions,
  type OutboundDefinition,
  type OutboundOptions,
  type ReferenceDefinition,
  type ReferenceOptions,
  type ReferenceOrigin,
  type ReferenceRow,
  type ReferenceSet,
  type RetryOptions,
  type RouterDefinition,
  type RouterOptions,
  type StateNamespace,
} from "./engine/definition.js";
export type { EngineMessage, MessageFormat } from "./engine/engine-message.js";
export { type Send, type SendBody, type SendOptions, send } from "./engine/send.js";
