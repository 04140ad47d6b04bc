/**
 * Rows of `controls`: the controls that rules of the running configuration cite, and the number of decisions
 * for each.
 */
import type { Clock } from "../../../base/index.ts";
import type { RowsOf } from "../../admin/index.ts";
import type { Snapshot } from "../../snapshot/index.ts";
import type { Configuration } from "../configuration/configuration-types.ts";
import type { ControlDecisions } from "./control-decisions.ts";

const NOTIFY_EVERY_MS = 1_000;

interface ControlsOptions {
  readonly configuration: Pick<Configuration, "running" | "onChange">;
  readonly decisions: ControlDecisions;
  readonly clock: Pick<Clock, "now">;
  /** Loads the citing packs by control; called once, at the first list. */
  readonly citingPacks: () => Promise<ReadonlyMap<string, readonly string[]>>;
}

export function controlRows({ configuration, decisions, clock, citingPacks }: ControlsOptions): RowsOf<"controls"> {
  let packs: ReturnType<ControlsOptions["citingPacks"]> | undefined;
  return {
    async list() {
      packs ??= citingPacks();
      const cited = await packs;
      const compiled = configuration.running()?.compiled;
      const rules = compiled?.kind === "compiled" ? rulesByControl(compiled.snapshot) : new Map<string, string[]>();
      const served = decisions.since(clock.now());
      return [...new Set([...rules.keys(), ...served.keys()])].sort().map((control) => ({
        control,
        pack: (cited.get(control) ?? []).join(","),
        rules: rules.get(control) ?? [],
        decisions: served.get(control) ?? 0,
      }));
    },
    onChange(listener) {
      let lastCount = decisions.counted;
      const timer = setInterval(() => {
        if (decisions.counted === lastCount) return;
        lastCount = decisions.counted;
        listener();
      }, NOTIFY_EVERY_MS).unref();
      const unlisten = configuration.onChange(listener);
      return () => {
        clearInterval(timer);
        unlisten();
      };
    },
  };
}

/** Returns rule names by control: access rules of the deployment and of profiles, then guardrail rules, without duplicates. */
function rulesByControl({ governance, guardrails }: Snapshot): ReadonlyMap<string, string[]> {
  const rules = new Map<string, string[]>();
  const all = [...governance.policies.rules.map(({ rule }) => rule), ...guardrails.inForce.rules];
  for (const { name, controls = [] } of all) {
    for (const control of controls) {
      const names = rules.get(control) ?? [];
      if (!names.includes(name)) rules.set(control, [...names, name]);
    }
  }
  return rules;
}
