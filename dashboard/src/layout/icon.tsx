/** Small line drawings on a grid of 16, each one path. */
const drawings = {
  overview: "M2.5 2.5h4.5v5h-4.5zM9 2.5h4.5v3H9zM9 7.5h4.5v6H9zM2.5 9.5H7v4H2.5z",
  nodes: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  leadership: "M2.5 12.5h11M3 10.5l-.8-6 3.3 2.4L8 3l2.5 3.9 3.3-2.4-.8 6z",
  events: "M1.5 8.5h3l2-5 3 9.5 2-4.5h3",
  queue: "M2.5 4h11M2.5 8h11M2.5 12h7",
  dead: "M2.5 4.5h11v8h-11zM2.5 4.5L8 9l5.5-4.5M6 12.5l4-4",
  jobs: "M2.5 5.5h11v7.5h-11zM5.5 5.5V3h5v2.5M2.5 9h11",
  agents: "M5 5.5h6v6H5zM8 5.5V2.5M2.5 8.5H5M11 8.5h2.5M6 13.5v-2M10 13.5v-2M7 8.5h.01M9 8.5h.01",
  crons: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.5V8l2.5 1.5",
  connections: "M5 2v3M11 2v3M3.5 5h9v2.5a4.5 4.5 0 0 1-9 0zM8 12v2.5",
  messages: "M2.5 3h11v8H7l-3 2.5V11H2.5z",
  config: "M2.5 4.5h6M11.5 4.5h2M10 3v3M2.5 11.5h2M7.5 11.5h6M6 10v3",
  alerts: "M8 2a4 4 0 0 1 4 4c0 4 1.5 5 1.5 5h-11S4 10 4 6a4 4 0 0 1 4-4zM6.5 13.5h3",
  audit: "M4 2h6l2.5 2.5V14H4zM6.5 7h3.5M6.5 9.5h3.5M6.5 12H9",
  tokens: "M5.5 6.5a3 3 0 1 0 0 3.5h4v1.5h1.5V10H14V6.5zM4 8.2h.01",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z",
  auto: "M2.5 3h11v8h-11zM6 13.5h4M8 11v2.5",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  out: "M6.5 3H3v10h3.5M10 5l3 3-3 3M13 8H6.5",
} as const;

export type IconName = keyof typeof drawings;

/** For the eye only: whatever it stands for is also said in words. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={drawings[name]} />
    </svg>
  );
}
