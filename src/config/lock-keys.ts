import type { Role } from "../election/core/names.js";

/** The keys that roles were given by hand. A Map could not be frozen, and JSON knows no bigint. */
export class LockKeys implements Iterable<readonly [Role, bigint]> {
  readonly #keys: ReadonlyMap<Role, bigint>;

  constructor(keys: Iterable<readonly [Role, bigint]>) {
    this.#keys = new Map(keys);
    Object.freeze(this);
  }

  get(role: Role): bigint | undefined {
    return this.#keys.get(role);
  }

  [Symbol.iterator](): IterableIterator<[Role, bigint]> {
    return this.#keys.entries();
  }

  toJSON(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#keys].map(([role, key]) => [role, String(key)]));
  }
}
