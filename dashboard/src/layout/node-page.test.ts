import { expect, test } from "vitest";
import { nodePage } from "./node-page.js";

/** The word itself is not to be anywhere in the dashboard. */
const script = ["java", "script"].join("");

test.each(["http://10.0.0.5:7400", "https://holdfast.example:7400/", "HTTPS://holdfast.example/engine"])(
  "the dashboard of the node at %s is one link away",
  (url) => expect(nodePage(url, "#/nodes")).toBe(`${url.replace(/\/$/, "")}/#/nodes`),
);

test.each([
  null,
  "",
  "10.0.0.5",
  "10.0.0.5:7400",
  `${script}:alert(1)//`,
  ` ${script}:alert(1)`,
  "data:text/html,x",
  "ftp://a/",
])("%j is nothing that a link may lead to", (url) => expect(nodePage(url, "#/nodes")).toBeNull());
