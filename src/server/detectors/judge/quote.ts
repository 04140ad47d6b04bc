/** Quotes texts between marker lines that no text can contain: the marker has 16 random hex digits, new for each call. */
import { randomBytes } from "node:crypto";

/** Returns a marker that occurs in none of `texts`. */
export function markerFor(texts: readonly string[], random: () => string = randomHex): string {
  for (;;) {
    const marker = random();
    if (!texts.some((text) => text.includes(marker))) return marker;
  }
}

const randomHex = (): string => randomBytes(8).toString("hex");

export const quoted = (marker: string, what: string, text: string): string =>
  `<<<${marker} ${what}\n${text}\n${marker} END>>>`;
