/** Reads a credential that is a text or an object with `value` and `env_var`. */

import type { Variables } from "./keys.ts";
import type { Section } from "./source.ts";

export function secretIn(section: Section, key: string, usual: string, variables: Variables): string | undefined {
  if (section.tree(key)?.kind !== "map") return variables.reference(section, key, usual);
  const inner = section.section(key);
  const variable = inner?.text("env_var")?.replace(/^env\./, "") ?? "";
  if (/^[A-Za-z_]\w{0,254}$/.test(variable)) return variables.named(variable);
  const written = inner && variables.reference(inner, "value", usual);
  if (written === undefined && variable !== "")
    inner?.tell("env_var", "left out: not the name of an environment variable; set it by hand");
  return written;
}
