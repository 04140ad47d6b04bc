/**
 * What became of the reasoning that a client sends back. Source: responses reference, 5.3. What is not ours, or of another
 * provider, caller or model, is dropped and counted, so that a session goes on; so is reasoning that nothing came of.
 */
import type { Loss } from "../../fidelity/losses.ts";
import type { ChannelTerms, SealedBlock } from "../types.ts";
import type { Step, Thought } from "./talk.ts";

export interface Thoughts {
  /** Empty: the provider is not told. */
  blocksOf(thought: Thought): readonly SealedBlock[];
  /** A provider cannot be told what it says. */
  drop(thought: Thought): void;
  readonly lost: readonly Loss[];
}

/** `kinds`: of the blocks that the form has a place for. */
export function openThoughts({ claims, seal }: ChannelTerms, kinds: ReadonlySet<SealedBlock["k"]>): Thoughts {
  const lost: Loss[] = [];
  const isTold = claims("thinking_replay");

  // The guard has counted what the channel does not claim, and what is not sealed.
  function drop({ sealed, place }: Thought): void {
    if (isTold && sealed !== undefined && lost.length === 0)
      lost.push({ capability: "thinking_replay", isHard: false, place });
  }

  function blocksOf(thought: Thought): readonly SealedBlock[] {
    if (!isTold || thought.sealed === undefined) return [];
    const blocks = seal?.open(thought.sealed)?.filter(({ k }) => kinds.has(k)) ?? [];
    if (blocks.length === 0) drop(thought);
    return blocks;
  }

  return { blocksOf, drop, lost };
}

/** Where the thoughts begin that nothing comes after. */
export function endOfDeeds(steps: readonly Step[]): number {
  return steps.findLastIndex((step) => (step.kind === "spoken" ? /\S/.test(step.text) : step.kind === "call")) + 1;
}
