import { markdownTable } from "./markdown-table.mjs";
import { shown } from "./plot-frame.mjs";

const begin = "<!-- Figures: written by scripts/benchmarks.mjs -->";
const end = "<!-- End of the figures -->";

/** What a newcomer asks first: our figure, and what it stands beside. */
const rows = [
  {
    question: "A leader is killed: until another acts",
    bench: "failover",
    ours: { figure: "crash_failover_p50" },
    beside: [
      { figure: "lock_poller_crash_failover_p50", words: "advisory lock, polled" },
      { figure: "row_lease_crash_failover_p50", words: "lease in a row" },
      { figure: "etcd_shortest_ttl_crash_failover_p50", words: "etcd, shortest lease" },
    ],
  },
  {
    question: "A leader steps down",
    bench: "failover",
    ours: { figure: "step_down_p50" },
    beside: [{ figure: "etcd_resign_p50", words: "etcd" }],
  },
  {
    question: "Messages in order over 100 lanes",
    bench: "queue",
    ours: { figure: "queue_rate" },
    beside: [
      { figure: "graphile_worker_rate", words: "graphile-worker, in no order" },
      { figure: "pg_boss_rate", words: "pg-boss, in no order" },
    ],
  },
  {
    question: "Jobs over HTTP",
    bench: "jobs",
    ours: { figure: "jobs_rate" },
    beside: [{ figure: "pg_boss_rate", words: "pg-boss, straight to the database" }],
  },
  {
    question: "Fenced transactions of 50 rows",
    bench: "fence",
    ours: { figure: "fence_rate_ratio_50_rows", words: "of the rate of unfenced ones" },
    beside: [],
  },
  {
    question: "HL7 over MLLP, one ordered interface",
    bench: "engine",
    ours: { figure: "engine_one_interface_rate" },
    beside: [{ figure: "engine_one_interface_ratio_to_inserts", words: "of the rate of a bare INSERT and COMMIT" }],
  },
];

/** The text with its table of figures as they were measured. A trial measured nothing. */
export function withFigures(text, { results, trial }) {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no place for figures: ${begin} ... ${end}`);
  const table = trial === null ? `${tableOf(results)}\n\n` : "";
  return `${text.slice(0, from)}${begin}\n\n${table}${text.slice(to)}`;
}

function tableOf(results) {
  const told = rows.flatMap(({ question, bench, ours, beside }) => {
    const value = ({ figure, words = "" }) => {
      const own = results.filter((one) => one.bench === bench);
      if (own.length === 0) return [];
      const result = own.find(({ name }) => name === figure);
      if (result === undefined) throw new Error(`bench ${bench} has no figure ${figure}`);
      return [figureText(result, words)];
    };
    return value(ours).map((figure) => [question, figure, beside.flatMap(value).join("; ")]);
  });
  return markdownTable(["", "Holdfast", "beside"], told);
}

function figureText({ value, unit }, words) {
  const figure = unit === "x" ? `${shown(value)}x` : `${shown(value)} ${unit}`;
  return words === "" ? figure : `${figure} (${words})`;
}
