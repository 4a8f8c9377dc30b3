import { createStore, useStore } from "../api/store.js";

/** `auto` is what the system says. */
export type Theme = "auto" | "light" | "dark";

const key = "holdfast-theme";
const themes: readonly Theme[] = ["auto", "light", "dark"];
const theme = createStore<Theme>(kept());

/** A browser that keeps nothing, in a private window perhaps, follows the system. */
function kept(): Theme {
  try {
    return themes.find((name) => name === localStorage.getItem(key)) ?? "auto";
  } catch {
    return "auto";
  }
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.get();
}

export function setTheme(next: Theme): void {
  theme.set(next);
  applyTheme();
  try {
    localStorage.setItem(key, next);
  } catch {
    // It holds for this visit.
  }
}

export function useTheme(): Theme {
  return useStore(theme);
}
