/** Check of `gateway check` for the native matching library of detectors, loaded as the gateway loads it. */

import { installCommand } from "../../base/index.ts";
import type { Deployment } from "../../server/core/config/index.ts";
import type { Answer } from "./probe.ts";

/** Checks the library. Returns nothing if no detector uses it. */
export async function prefilterAnswers(document: Deployment | undefined): Promise<readonly Answer[]> {
  const detectors = document?.guardrails?.detectors ?? [];
  const native = detectors.filter(({ type, prefilter }) => type === "pii" && prefilter === "native");
  if (native.length === 0) return [];
  const subject = "library re2";
  const { engineOf } = await import("../../server/detectors/index.ts");
  const engine = engineOf("native");
  if (engine === undefined) {
    const message = `is missing or was built for another Node.js: install it with \`${installCommand("re2")}\`, or set \`prefilter: pure\``;
    return [{ verdict: "fail", subject, message }];
  }
  const found: (readonly [number, number])[] = [];
  engine.custom("(?P<value>[0-9]{4})x", false)("größe 1234X 12x", (start, end) => found.push([start, end]));
  const isRight = found.length === 1 && found[0]?.[0] === 6 && found[0][1] === 10;
  const names = native.map(({ name, type }) => name ?? type).join(", ");
  return [
    isRight
      ? { verdict: "ok", subject, message: `loaded; it searches texts for ${names}` }
      : {
          verdict: "fail",
          subject,
          message: `gives wrong results: install it again with \`${installCommand("re2")}\``,
        },
  ];
}
