import type { ComponentType } from "preact";
import type { Permission } from "../api/permission.js";
import type { IconName } from "../layout/icon.js";

export const pageGroups = ["Cluster", "Work", "Messages", "Administration"] as const;

export interface PageProps {
  /** What follows the page's path: `#/messages/42` is ["42"]. */
  readonly rest: readonly string[];
}

export interface Page {
  /** One step: "/nodes". */
  readonly path: string;
  readonly title: string;
  readonly group: (typeof pageGroups)[number];
  readonly icon: IconName;
  /** Whoever lacks it does not see the page in the menu. */
  readonly permission: Permission;
  readonly component: ComponentType<PageProps>;
}
