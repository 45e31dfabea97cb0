/** Places for work in progress: taken one after the other, given back in any order. One caller takes. */
export class Slots {
  readonly #most: number;
  #taken = 0;
  #wake: (() => void) | null = null;
  #wanted = 0;

  constructor(most: number) {
    this.#most = most;
  }

  take(): void {
    this.#taken += 1;
  }

  free(): void {
    this.#taken -= 1;
    if (this.#taken > this.#wanted || this.#wake === null) return;
    this.#wake();
    this.#wake = null;
  }

  /** Resolves once a place is free; undefined where one is. */
  ready(): Promise<void> | undefined {
    return this.#atMost(this.#most - 1);
  }

  /** Resolves once every place has been given back; undefined where none is taken. */
  idle(): Promise<void> | undefined {
    return this.#atMost(0);
  }

  #atMost(wanted: number): Promise<void> | undefined {
    if (this.#taken <= wanted) return undefined;
    this.#wanted = wanted;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
