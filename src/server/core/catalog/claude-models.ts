/**
 * Capabilities of the API that a Claude model lacks, by the model's name. If the name has no version, only `mid_system` is
 * assumed to be missing, since few models accept it.
 *
 * Sources, all of platform.claude.com/docs/en: build-with-claude/mid-conversation-system-messages (which models take a system
 * turn, and that Sonnet 5 does not); build-with-claude/working-with-messages (prefill, from 4.6 on);
 * build-with-claude/adaptive-thinking and /effort (models with effort, and those that refuse a budget). Sampling: dialects
 * reference, section 1; the SDK's types say that models after Opus 4.6 refuse it.
 */

import type { Capability } from "../dialects/index.ts";

/**
 * Models that accept system turns. Later models are added when their maker documents it, since a model without support refuses
 * the request.
 */
const WITH_SYSTEM_TURNS: ReadonlySet<string> = new Set([
  "opus-4-8",
  "opus-5",
  "opus-5-5",
  "fable-5",
  "fable-5-1",
  "mythos-5",
  "mythos-5-1",
]);

/** Matches tier and version. Hosts put the maker before the name, and a date or revision after it. */
const NAME = /claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?(?!\d)/u;

/** Matches names of 2024, which have the version before the tier. */
const OLD_NAME = /claude-(\d)(?:-(\d))?-[a-z]/u;

const UNKNOWN_VERSION: readonly Capability[] = ["mid_system"];

/** Returns the capabilities that a Claude model lacks. `model` is the name sent to the provider. */
export function lackedByClaude(model: string): readonly Capability[] {
  const [, tier, major, minor] = NAME.exec(model) ?? [];
  const version = major === undefined ? oldVersion(model) : versionOf(major, minor);
  if (version === undefined) return UNKNOWN_VERSION;
  const lacked: Capability[] = [];
  const family = [tier, major, minor].filter((part) => part !== undefined).join("-");
  if (!WITH_SYSTEM_TURNS.has(family)) lacked.push("mid_system");
  // Opus 4.5 accepts `effort`, but its thinking needs a budget.
  if (version < 4.06) lacked.push("effort");
  else lacked.push("prefill");
  if (version >= 4.01) lacked.push("top_p_pair");
  if (version >= 4.07) lacked.push("sampling", "top_k", "thinking_budget");
  return lacked;
}

const oldVersion = (model: string): number | undefined => {
  const [, major, minor] = OLD_NAME.exec(model) ?? [];
  return major === undefined ? undefined : versionOf(major, minor);
};

/** Converts a version to a number with two decimal places for the minor version: 4.5 is 4.05. */
const versionOf = (major: string, minor = "0"): number => Number(major) + Number(minor) / 100;
