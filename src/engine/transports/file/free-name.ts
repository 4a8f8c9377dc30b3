import { HoldfastError } from "../../../errors.js";

const mostTries = 100;

/** Its own name, or where that is taken the name with the time behind it, and a number where it must be. */
export async function freeName(
  name: string,
  isTaken: (candidate: string) => Promise<boolean>,
  wallMs: number,
): Promise<string> {
  if (!(await isTaken(name))) return name;
  const stamped = `${name}.${new Date(wallMs).toISOString().replaceAll(/[:-]/g, "")}`;
  for (let nth = 1; nth <= mostTries; nth += 1) {
    const candidate = nth === 1 ? stamped : `${stamped}-${nth}`;
    if (!(await isTaken(candidate))) return candidate;
  }
  throw new HoldfastError("REFUSED", `There is no free name for ${name}: clear the folder it goes to.`);
}
