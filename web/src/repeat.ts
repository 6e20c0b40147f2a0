// A read that is asked for many times, and repeated where it failed.

const firstDelay = 500, lastDelay = 8000; // ms

// How long to wait after so many failures in a row, at least one.
export function delayAfter(failures: number): number { return Math.min(firstDelay * 2 ** (failures - 1), lastDelay); }

export interface Reading<T> {
  read(stop: AbortSignal): Promise<T>;
  // False: it does not fit what came meanwhile, and is read once more.
  take(answer: T): boolean | void;
  // Whether it is repeated.
  failed(error: unknown): boolean;
}

// One read is under way at a time, so the newest answer is taken last. What is asked for meanwhile is read after it.
export class Repeated<T> {
  private stop_: AbortController | null = null; // of the read that is under way
  private timer: ReturnType<typeof setTimeout> | undefined; // of the read that will be
  private asked = false; // while one is under way
  private failures = 0; // in a row

  // `pause`: ms between reads that follow each other.
  constructor(private readonly reading: Reading<T>, private readonly pause = 200) {}

  // It will read, and what is asked for now needs no read of its own.
  get waits(): boolean { return this.timer !== undefined; }

  ask(): void {
    if (this.stop_) this.asked = true;
    else void this.run();
  }
  // The answer of a read that is under way is not taken: it may be of another process.
  restart(): void {
    this.stop();
    this.failures = 0;
    void this.run();
  }
  stop(): void {
    this.stop_?.abort();
    this.stop_ = null;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private async run(): Promise<void> {
    this.stop();
    this.asked = false;
    const stop = this.stop_ = new AbortController();
    let delay: number | null = null;
    try {
      const answer = await this.reading.read(stop.signal);
      if (this.stop_ !== stop) return;
      const fits = this.reading.take(answer) !== false;
      this.failures = 0;
      if (!fits || this.asked) delay = this.pause;
    } catch (error) {
      if (this.stop_ !== stop) return;
      if (this.reading.failed(error)) delay = delayAfter(++this.failures);
      else if (this.asked) delay = this.pause; // the failure is final for what was read, not for what was asked for since
    }
    this.stop_ = null;
    if (delay !== null) this.timer = setTimeout(() => void this.run(), delay);
  }
}
