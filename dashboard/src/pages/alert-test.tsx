import type { TestedTargets } from "../api/alert-answers.js";
import { ApiError } from "../api/api-error.js";
import { act } from "../api/client.js";
import { Action } from "../parts/action.js";

/** Whoever is told of alerts is told that this is a test. */
export function TestTargets() {
  const run = async (): Promise<string> => {
    const { items } = await act<TestedTargets>("POST", "/alerts/test");
    const failed = items.filter(({ outcome }) => outcome === "failed");
    if (failed.length > 0) {
      const words = failed.map(({ target, problem }) => `${target}: ${problem ?? "failed"}`).join("; ");
      throw new ApiError(0, "NOT_TOLD", `${items.length - failed.length} of ${items.length} were told. ${words}`);
    }
    return `Told: ${items.map(({ target }) => target).join(", ")}.`;
  };
  return (
    <Action
      permission="control"
      verb="Test notifications"
      title="Send a test notification"
      says={<p>Every target that any rule names gets a message which says that it is a test. Nothing else changes.</p>}
      run={run}
    />
  );
}
