/** Released builds: those tested in mixed clusters, and what must not change because of them. */
import { readFileSync } from "node:fs";

export const DATA = new URL("../../../../data/versions/", import.meta.url);

export interface OlderBuild {
  /** Commit of this repository. */
  readonly commit: string;
  readonly version: string;
  /** Highest feature level of the build. */
  readonly level: number;
  readonly about: string;
}

/** Oldest first. */
export const OLDER_BUILDS: readonly OlderBuild[] = JSON.parse(readFileSync(new URL("builds.json", DATA), "utf8"));

/** Agreements of members up to this level are permanent. */
export const CLOSED_LEVEL = Math.max(...OLDER_BUILDS.map(({ level }) => level));
