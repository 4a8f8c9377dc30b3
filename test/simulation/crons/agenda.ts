/** Virtual time: what happens, in the order of its time. */
export class Agenda {
  now: number;
  events = 0;
  /** The next one last. */
  private readonly planned: { readonly time: number; readonly act: () => void }[] = [];

  constructor(now: number) {
    this.now = now;
  }

  after(delayMs: number, act: () => void): void {
    this.at(this.now + delayMs, act);
  }

  at(time: number, act: () => void): void {
    const event = { time: Math.max(time, this.now), act };
    let low = 0;
    let high = this.planned.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.planned[middle]?.time ?? 0) > event.time) low = middle + 1;
      else high = middle;
    }
    this.planned.splice(low, 0, event);
  }

  runUntil(time: number): void {
    for (let next = this.planned.at(-1); next !== undefined && next.time <= time; next = this.planned.at(-1)) {
      this.planned.pop();
      this.now = next.time;
      this.events += 1;
      next.act();
    }
    this.now = time;
  }
}
