/** Reads the field `thinking` of the messages dialect, which compat providers have adopted. Source: dialects reference, 3.1, 5.1. */

import { objectOf } from "../../json/json-values.ts";
import { THINKING } from "../known-fields.ts";
import type { UseList } from "./use-list.ts";

export function readThinking(value: unknown, uses: UseList): void {
  const thinking = objectOf(value);
  if (thinking === undefined) return;
  uses.checkMembers(thinking, THINKING, "thinking");
  switch (thinking.type) {
    case "disabled":
      return;
    case "enabled":
    case "adaptive":
    case "between_tools":
      break;
    default:
      uses.lose("unknown_field", "thinking.type");
  }
  uses.add("thinking");
  if (typeof thinking.budget_tokens === "number") uses.add("thinking_budget");
}
