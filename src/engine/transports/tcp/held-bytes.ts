/** What all connections of a source hold in memory: frames that have begun, and frames that wait for their commit. */
export class HeldBytes {
  private readonly max: number;
  private held = 0;

  constructor(max: number) {
    this.max = max;
  }

  get isFull(): boolean {
    return this.held > this.max;
  }

  change(by: number): void {
    this.held += by;
  }
}
