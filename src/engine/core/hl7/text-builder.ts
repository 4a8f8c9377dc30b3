const longestBlock = 8192;

/** A text put together from many small ones, without a list of millions of them. */
export class TextBuilder {
  readonly #blocks: string[] = [];
  #pieces: string[] = [];

  add(piece: string): void {
    if (piece === "") return;
    this.#pieces.push(piece);
    if (this.#pieces.length < longestBlock) return;
    this.#blocks.push(this.#pieces.join(""));
    this.#pieces = [];
  }

  text(): string {
    return this.#blocks.join("") + this.#pieces.join("");
  }
}
