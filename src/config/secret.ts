import { inspect } from "node:util";

/**
 * A text that must not be seen: a password, a token, a URL that may carry one. Whoever prints it, logs it or turns it into
 * JSON gets a placeholder, by construction; `reveal` is the one way to the text, and easy to search for.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
    Object.freeze(this);
  }

  reveal(): string {
    return this.#text;
  }

  get isEmpty(): boolean {
    return this.#text === "";
  }

  toString(): string {
    return this.isEmpty ? "(not set)" : "(secret)";
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}
