/** How an option is written by whoever runs this demo. */
export type Spelling = (option: string) => string;

/** npm keeps options for itself, unless two dashes come first. */
export function spellingOf(env: Readonly<Record<string, string | undefined>>): Spelling {
  return env.npm_lifecycle_event === "start" ? (option) => `npm start -- ${option}` : (option) => option;
}
