import { useId, useState } from "preact/hooks";
import { act } from "../api/client.js";
import type { NodeRequest, RoleLeader } from "../api/cluster.js";
import { useMay } from "../api/session.js";
import { useLive } from "../live/live-stream.js";
import { Confirm } from "./action.js";

/** Asks the leader of a role to hand over: to its heir, or to a node of one's choice. */
export function StepDown({ leader }: { readonly leader: RoleLeader }) {
  const may = useMay("control");
  const nodes = useLive((state) => state.nodes);
  const id = useId();
  const [asking, setAsking] = useState(false);
  const [to, setTo] = useState("");
  if (!may || leader.leader_id === null) return null;
  const others = (nodes ?? []).filter(({ node_id, status }) => status === "active" && node_id !== leader.leader_id);

  const run = async (): Promise<string> => {
    const path = `/cluster/leaders/${encodeURIComponent(leader.role)}/step-down`;
    const { acted_at: acted, node_id: node } = await act<NodeRequest>("POST", path, to === "" ? {} : { to });
    return acted === null
      ? `${node} was asked to step down, and has not yet.`
      : `${node} stepped down from ${leader.role}.`;
  };

  return (
    <>
      <button
        type="button"
        class="button"
        aria-label={`Step down from ${leader.role}`}
        disabled={others.length === 0}
        title={others.length === 0 ? "There is no other active node" : ""}
        onClick={() => setAsking(true)}
      >
        Step down
      </button>
      {asking ? (
        <Confirm
          title={`Hand over ${leader.role}?`}
          verb="Step down"
          run={run}
          onClose={() => setAsking(false)}
          says={
            <>
              <p>
                {leader.leader_id} finishes what it is doing and gives the role up. Another node leads a moment later,
                under the next epoch.
              </p>
              <div class="field">
                <label for={id}>In favour of</label>
                <select id={id} value={to} onChange={({ currentTarget }) => setTo(currentTarget.value)}>
                  <option value="">whoever is next</option>
                  {others.map(({ node_id }) => (
                    <option key={node_id} value={node_id}>
                      {node_id}
                    </option>
                  ))}
                </select>
              </div>
            </>
          }
        />
      ) : null}
    </>
  );
}
