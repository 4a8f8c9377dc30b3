import { now } from "./journal.mjs";

const writerEveryMs = 5;
const everyMs = 20;

/** Looks at each gate all the time, and puts each one on record that it finds open. */
export function watchGates(node, roles, { journal, points, say }) {
  for (const name of roles) {
    const handle = node.role(name);
    handle.on("elected", ({ epoch, reason }) => {
      journal.tell({ kind: "elected", role: name, epoch: `${epoch}`, reason });
      say({ kind: "elected", role: name, epoch: `${epoch}` });
      points.at("at_elected");
    });
    handle.on("lost", ({ epoch, reason }) => {
      journal.tell({ kind: "lost", role: name, epoch: `${epoch}`, reason });
      say({ kind: "lost", role: name, epoch: `${epoch}` });
      points.at("at_lost");
    });
    const look = () => {
      const from = now();
      const epoch = openEpochOf(handle.gate);
      if (epoch !== null) journal.tell({ kind: "gate", role: name, epoch: `${epoch}`, from, to: now() });
      setTimeout(look, name === "writer" ? writerEveryMs : everyMs);
    };
    look();
  }
}

/** Null where the gate is shut, or shut between the two looks. */
export function openEpochOf(gate) {
  if (!gate.isLeader) return null;
  try {
    return gate.requireLeader().epoch;
  } catch {
    return null;
  }
}
