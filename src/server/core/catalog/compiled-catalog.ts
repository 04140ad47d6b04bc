/** Catalog built into the executable: every preset with its second APIs. Built on first use, then shared. */

import { firstParty } from "./presets/first-party.ts";
import { hosts } from "./presets/host-presets.ts";
import { providerOf } from "./presets/preset-row.ts";
import { secondSurfaces } from "./presets/second-surfaces.ts";
import { selfHosted } from "./presets/self-hosted.ts";
import type { Catalog } from "./types.ts";

let compiled: Catalog | undefined;

export function compiledCatalog(): Catalog {
  compiled ??= build();
  return compiled;
}

function build(): Catalog {
  const seconds = secondSurfaces();
  const rows = [...firstParty(), ...hosts(), ...selfHosted()];
  return new Map(
    rows.map((row) => [
      row.name,
      providerOf(
        row,
        seconds.filter(({ preset }) => preset === row.name),
      ),
    ]),
  );
}
