/**
 * Chance from a seed: sfc32, seeded by splitmix32. The same seed draws the same numbers on every machine, so a failing
 * run is one number.
 */
export class Random {
  private a: number;
  private b: number;
  private c: number;
  private counter = 1;

  constructor(seed: number) {
    let state = seed | 0;
    const mix = (): number => {
      state = (state + 0x9e3779b9) | 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return z ^ (z >>> 15);
    };
    this.a = mix();
    this.b = mix();
    this.c = mix();
    for (let round = 0; round < 12; round++) this.unit();
  }

  /** A number in [0, 1). A property, so that it can be handed to the elector as it is. */
  readonly unit = (): number => {
    const t = (((this.a + this.b) | 0) + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + t) | 0;
    return (t >>> 0) / 4294967296;
  };

  between(from: number, to: number): number {
    return from + this.unit() * (to - from);
  }

  /** A whole number in [from, to]. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.unit() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return probability > 0 && this.unit() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.unit() * items.length)];
    if (item === undefined) throw new Error("Nothing to pick from.");
    return item;
  }

  /** Picks a name by its weight. */
  weighted<Name extends string>(weights: ReadonlyMap<Name, number>): Name {
    let total = 0;
    for (const weight of weights.values()) total += weight;
    let left = this.unit() * total;
    for (const [name, weight] of weights) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new Error("No name has any weight.");
  }
}
