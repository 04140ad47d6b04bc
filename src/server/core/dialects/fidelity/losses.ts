/** Computes what a channel would lose of a request. Source: dialects reference, section 7; specification document 3 (`caps`). */
import { CAPABILITY_NAMES, type Capability, ruleOf, type TranslationDirection } from "./capabilities.ts";

/** Capabilities that a request uses. */
export interface Uses {
  readonly capabilities: ReadonlySet<Capability>;
  /**
   * Capabilities used in a form that the other dialect cannot express (an image by http, a fifth stop sequence), with the
   * place of one such use: a path like `messages[2].content[0].image_url`, at most `MAX_PLACE_LENGTH` long. Some entries are
   * determined only when they are read.
   */
  readonly untranslatable: ReadonlyMap<Capability, string>;
  /** Place of unsigned thinking: its loss is a hint, reported for a channel that claims `thinking_replay`. */
  readonly unsignedThinking?: string | undefined;
}

export interface Loss {
  readonly capability: Capability;
  /** Whether the request is refused because of the loss. A soft loss is only counted. */
  readonly isHard: boolean;
  /** Place in the request, if the form and not the capability is lost. */
  readonly place: string | undefined;
  /** Set if the operator removes the field, also from requests that are not translated. */
  readonly isStripped?: true;
}

export const MAX_PLACE_LENGTH = 120;

export const NO_USES: Uses = { capabilities: new Set(), untranslatable: new Map() };

const NONE: readonly Loss[] = [];

interface LosingChannel {
  /** Claims of the channel; `undefined` if it claims everything that its dialect can express. */
  readonly caps: ReadonlySet<string> | undefined;
}

/** Returns the losses in the order of the vocabulary. `direction` is `undefined` if the request is not translated. */
export function losses(
  uses: Uses,
  direction: TranslationDirection | undefined,
  { caps }: LosingChannel,
): readonly Loss[] {
  const isTranslated = direction !== undefined;
  if (!isTranslated && caps === undefined) return NONE;
  const { capabilities } = uses;
  const untranslatable = isTranslated ? uses.untranslatable : undefined;
  const claimsReplay = caps === undefined || caps.has("thinking_replay");
  const unsigned = isTranslated && !claimsReplay ? uses.unsignedThinking : undefined;
  const isTranslatable = untranslatable === undefined || untranslatable.size === 0;
  if (capabilities.size === 0 && isTranslatable && unsigned === undefined) return NONE;
  const lost: Loss[] = [];
  for (const [capability, place] of untranslatable ?? []) {
    lost.push({ capability, isHard: ruleOf(capability).class === "hard", place });
  }
  const isHinted = untranslatable?.has("hint") === true;
  if (unsigned !== undefined && !isHinted) lost.push({ capability: "hint", isHard: false, place: unsigned });
  for (const capability of capabilities) {
    if (untranslatable?.has(capability) === true || (capability === "hint" && unsigned !== undefined)) continue;
    const rule = ruleOf(capability);
    const outcome = isTranslated ? rule.outcomes[direction] : "carried";
    if (outcome === "emulated" || (outcome !== "lost" && (caps === undefined || caps.has(capability)))) continue;
    lost.push({ capability, isHard: rule.class === "hard" && outcome !== "optional", place: undefined });
  }
  return lost.length < 2 ? lost : lost.sort(inOrderOfVocabulary);
}

function inOrderOfVocabulary(one: Loss, other: Loss): number {
  return CAPABILITY_NAMES.indexOf(one.capability) - CAPABILITY_NAMES.indexOf(other.capability);
}
