/** Set of path prefixes. A path is looked up once per length of a prefix, however many prefixes there are. */
export class PathPrefixes {
  readonly #prefixes: ReadonlySet<string>;
  readonly #lengths: ReadonlySet<number>;

  constructor(prefixes: readonly string[]) {
    this.#prefixes = new Set(prefixes);
    this.#lengths = new Set(prefixes.map((prefix) => prefix.length));
  }

  get isEmpty(): boolean {
    return this.#prefixes.size === 0;
  }

  /** Returns whether the path begins with one of the prefixes. */
  covers(path: string): boolean {
    for (const length of this.#lengths) if (this.#prefixes.has(path.slice(0, length))) return true;
    return false;
  }
}
