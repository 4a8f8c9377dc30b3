import type { RoleLeader } from "../api/cluster.js";
import { useLive } from "../live/live-stream.js";
import { useServerNow } from "../time/clock.js";

/** A lease running down by the server's clock, and filled up again by each beat. */
export function LeaseBar({ leader }: { readonly leader: RoleLeader }) {
  const now = useServerNow(100);
  const full = useLive((state) => state.fullLeaseMs[leader.role]) ?? 0;
  const live = useLive((state) => state.connection === "live");
  if (leader.lease_expires_at === null || full <= 0) return <span class="faint">no lease</span>;
  const left = Math.max(0, leader.lease_expires_at * 1000 - now);
  const share = Math.min(1, left / full);
  const tone = share > 0.45 ? "good" : share > 0.2 ? "warn" : "bad";
  return (
    <span class={live ? "lease" : "lease lease-old"}>
      <span class="bar" aria-hidden="true">
        <i class={`bar-fill fill-${tone}`} style={{ transform: `scaleX(${share.toFixed(3)})` }} />
      </span>
      <span class="num lease-left">{(left / 1000).toFixed(1)} s</span>
    </span>
  );
}
