import { expect, it } from "vitest";
import { defineOutbound, type OutboundDefinition } from "./definition.js";
import { Outbounds } from "./outbounds.js";
import type { DeliveryOutcome, Destination } from "./transports/transport.js";

const delivered: DeliveryOutcome = { kind: "delivered", reply: null };
const called: DeliveryOutcome = { kind: "unconfirmed", reason: "it was called off" };

/** Destinations that answer when the test says so, and that cut off what is under way when they are closed. */
function scene() {
  const events: string[] = [];
  let made = 0;
  const answers = new Map<string, () => void>();
  const open = ({ name }: OutboundDefinition): Destination => {
    made += 1;
    const title = `${name}#${made}`;
    let cutOff = (): void => undefined;
    return {
      state: { kind: "connected", reason: null, since: 0 },
      send: async () =>
        await new Promise((resolve) => {
          cutOff = () => resolve(called);
          answers.set(title, () => resolve(delivered));
        }),
      close: async () => {
        events.push(`close ${title}`);
        await Promise.resolve(cutOff());
      },
    };
  };
  const outbounds = new Outbounds(open);
  const send = async (outbound: OutboundDefinition, lane: string, position: number): Promise<DeliveryOutcome> => {
    const destination = outbounds.destinationOf(outbound, lane);
    return await outbounds.send(
      lane,
      position,
      async () => await destination.send(null as never, null as never, null as never),
    );
  };
  return { outbounds, events, answers, send };
}

const lab = defineOutbound({ name: "lab", transport: { kind: "mllp", host: "h", port: 1 } });

it("one that is closed to be opened anew cuts off nothing, however long another of its lanes takes", async () => {
  const { outbounds, events, answers, send } = scene();
  const slow = send(lab, "lab/0", 1);
  const quick = send(lab, "lab/1", 1);
  const closing = outbounds.close("lab");
  answers.get("lab#2")?.();
  expect(await quick).toEqual(delivered);
  // The lane goes on meanwhile, by a connection of its own.
  const next = send(lab, "lab/1", 2);
  answers.get("lab#1")?.();
  expect(await slow).toEqual(delivered);
  await closing;
  expect(events.sort()).toEqual(["close lab#1", "close lab#2"]);
  answers.get("lab#3")?.();
  expect(await next).toEqual(delivered);
});

it("the connections of an outbound that left the graph are closed, after what they are sending, and no others", async () => {
  const { outbounds, events, answers, send } = scene();
  const other = defineOutbound({ ...lab, name: "lab-2" });
  const last = send(lab, "lab", 1);
  const stays = send(other, "lab-2", 1);
  const closing = outbounds.keepOnly(new Set(["lab-2"]));
  expect(outbounds.statesOf("lab")).toEqual([]);
  answers.get("lab#1")?.();
  expect(await last).toEqual(delivered);
  await closing;
  expect(events).toEqual(["close lab#1"]);
  answers.get("lab-2#2")?.();
  expect(await stays).toEqual(delivered);
});
