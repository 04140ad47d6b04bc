/** Builds that are out: those that mixed clusters are tried with, and what no change may touch any more because of them. */
import { readFileSync } from "node:fs";

export const DATA = new URL("../../../../data/versions/", import.meta.url);

export interface OlderBuild {
  /** Of this repository. */
  readonly commit: string;
  readonly version: string;
  /** The highest feature level that it works at. */
  readonly level: number;
  readonly about: string;
}

/** Oldest first. */
export const OLDER_BUILDS: readonly OlderBuild[] = JSON.parse(readFileSync(new URL("builds.json", DATA), "utf8"));

/** What members of this level and below agree on holds for good. */
export const CLOSED_LEVEL = Math.max(...OLDER_BUILDS.map(({ level }) => level));
