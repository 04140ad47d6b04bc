/**
 * Handles reasoning that a client sends back. Source: responses reference, 5.3. Reasoning that the gateway did not seal, or
 * that belongs to another provider, caller or model, is dropped and counted, so that the session continues; so is reasoning
 * without a result after it.
 */
import type { Loss } from "../../fidelity/losses.ts";
import type { ChannelTerms, SealedBlock } from "../types.ts";
import type { Step, Thought } from "./item-conversation.ts";

export interface Thoughts {
  /** Returns the blocks to send to the provider; empty if there are none. */
  blocksOf(thought: Thought): readonly SealedBlock[];
  /** Records the loss of a thought that cannot be sent to the provider. */
  drop(thought: Thought): void;
  readonly lost: readonly Loss[];
}

/** Returns a reader of the thoughts of one request. `kinds` are the blocks that the channel's form can express. */
export function openThoughts({ claims, seal }: ChannelTerms, kinds: ReadonlySet<SealedBlock["k"]>): Thoughts {
  const lost: Loss[] = [];
  const claimsReplay = claims("thinking_replay");

  // The guard has already counted unclaimed capabilities and unsealed reasoning, so only the rest is recorded.
  function drop({ sealed, place }: Thought): void {
    if (claimsReplay && sealed !== undefined && lost.length === 0)
      lost.push({ capability: "thinking_replay", isHard: false, place });
  }

  function blocksOf(thought: Thought): readonly SealedBlock[] {
    if (!claimsReplay || thought.sealed === undefined) return [];
    const blocks = seal?.open(thought.sealed)?.filter(({ k }) => kinds.has(k)) ?? [];
    if (blocks.length === 0) drop(thought);
    return blocks;
  }

  return { blocksOf, drop, lost };
}

/** Returns the index after the last step that has text or is a call. Thoughts from there on have no result. */
export function endBeforeTrailingThoughts(steps: readonly Step[]): number {
  return steps.findLastIndex((step) => (step.kind === "text" ? /\S/.test(step.text) : step.kind === "call")) + 1;
}
