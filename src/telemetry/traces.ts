import {
  type Attributes,
  type Context,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";

/** Every span that Holdfast makes, and what it is about. docs/reference/traces.md has them with their attributes. */
export const spanNames = {
  acquire: "holdfast acquire",
  failover: "holdfast failover",
  term: "holdfast term",
  claim: "holdfast claim",
  settle: "holdfast settle",
  deliver: "holdfast deliver",
  job: "holdfast job",
} as const;

const scope = "holdfast";

/** What carries a trace along with a message: the headers of W3C Trace Context. */
export type Carrier = Readonly<Record<string, string>>;

/**
 * Null unless the application has set an SDK up. Asked each time, since it may do so after its node was created; it is two
 * property reads where it has not.
 */
function tracer(): Tracer | null {
  const provider = trace.getTracerProvider() as TracerProvider & {
    getDelegateTracer?: (of: string) => Tracer | undefined;
  };
  return provider.getDelegateTracer === undefined
    ? provider.getTracer(scope)
    : (provider.getDelegateTracer(scope) ?? null);
}

/** Whether anybody would see a span. */
export const isTracing = (): boolean => tracer() !== null;

/** A span of something that has just ended, and took so long. Times are by this machine's wall clock. */
export function spanAfterwards(
  name: string,
  durationMs: number,
  attributes: Attributes,
  failure: string | null = null,
): void {
  const now = Date.now();
  const span = tracer()?.startSpan(name, { startTime: now - durationMs, attributes, root: true });
  if (span === undefined) return;
  if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
  span.end(now);
}

/** A span that is ended later, by somebody else; null where nobody traces. */
export function openSpan(name: string, attributes: Attributes): Span | null {
  return tracer()?.startSpan(name, { attributes, root: true }) ?? null;
}

/** Runs it within a span of its own. What it rejects with is the span's error, by its name alone: messages may quote bodies. */
export async function inSpan<Result>(
  name: string,
  attributes: Attributes,
  work: (span: Span | null) => Promise<Result>,
): Promise<Result> {
  const own = tracer();
  if (own === null) return await work(null);
  return await own.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      failSpan(span, error instanceof Error ? error.name : "error");
      throw error;
    } finally {
      span.end();
    }
  });
}

/** What is done with a message, as a child of whoever sent it. `within` runs things inside of it. */
export interface Consumption {
  readonly within: <Result>(work: () => Result) => Result;
  /** What the message's successors carry, so that their spans are children of this one. */
  readonly carrier: Carrier;
  end(failure: string | null): void;
}

/** Null where nobody traces. */
export function consume(name: string, carried: Carrier, attributes: Attributes): Consumption | null {
  const own = tracer();
  if (own === null) return null;
  const from = propagation.extract(context.active(), carried);
  const span = own.startSpan(name, { kind: SpanKind.CONSUMER, attributes }, from);
  const inside = trace.setSpan(from, span);
  return {
    within: (work) => context.with(inside, work),
    carrier: carrierOf(inside),
    end: (failure) => {
      if (failure !== null) failSpan(span, failure);
      span.end();
    },
  };
}

/** The headers with which somebody else goes on with the trace that is active here; null where there is none. */
export function activeCarrier(): Carrier | null {
  return tracer() === null || trace.getActiveSpan() === undefined ? null : carrierOf(context.active());
}

function carrierOf(from: Context): Carrier {
  const carrier: Record<string, string> = {};
  propagation.inject(from, carrier);
  return carrier;
}

export function failSpan(span: Span, message: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** The span of a request that came over HTTP, as a child of its caller's, and the context it is answered in. */
export function openRequestSpan(
  method: string,
  headers: NodeJS.Dict<string | string[]>,
): { readonly span: Span; readonly inside: Context } | null {
  const own = tracer();
  if (own === null) return null;
  const from = propagation.extract(context.active(), headers);
  const span = own.startSpan(method, { kind: SpanKind.SERVER, attributes: { "http.request.method": method } }, from);
  return { span, inside: trace.setSpan(from, span) };
}

/** Named by the route and never by the path: that one is the caller's own. */
export function endRequestSpan(
  span: Span,
  { method, route, status }: { readonly method: string; readonly route: string; readonly status: number },
): void {
  span.updateName(`${method} ${route}`);
  span.setAttributes({ "http.route": route, "http.response.status_code": status });
  if (status >= 500) failSpan(span, `${status}`);
  span.end();
}

/** Runs it within a context that was kept. */
export const within = <Result>(inside: Context, work: () => Result): Result => context.with(inside, work);
