/**
 * Decides what to do with a deployment document beside the stored one: the table of spec document 1, States and transitions.
 *
 * The caller passes digests; equal digests mean equal content. A document with a version is compared by it; a stored one
 * without a version counts as older than any. A document without a version cannot say whether it is newer, so it waits at a
 * start and is applied when an operator reloads.
 */

export interface Edition {
  readonly version?: number;
  readonly digest: string;
}

export interface ApplyQuestion {
  readonly trigger: "start" | "reload";
  /** `undefined` while the cluster has stored nothing. */
  readonly stored: Edition | undefined;
  readonly document: Edition;
}

/** `keep`: both are equal. `wait`: a reload would apply it. `refuse`: the document has to be edited. */
export interface ApplyDecision {
  readonly kind: "apply" | "keep" | "refuse" | "wait";
  readonly reason: string;
}

export function decideApply({ trigger, stored, document }: ApplyQuestion): ApplyDecision {
  if (stored === undefined) return { kind: "apply", reason: "nothing is stored yet, so the document is the seed" };
  const isSame = stored.digest === document.digest;
  const { version } = document;

  if (version === undefined) {
    if (isSame) return { kind: "keep", reason: "the document is the stored one" };
    return trigger === "reload"
      ? { kind: "apply", reason: "a reload was asked for, and the document has no version to compare" }
      : { kind: "wait", reason: "the document differs from the stored one and has no version; a reload applies it" };
  }
  if (stored.version === undefined) {
    return { kind: "apply", reason: `the document has version ${version}, the stored one has none` };
  }
  if (version > stored.version) {
    return { kind: "apply", reason: `version ${version} is newer than the stored version ${stored.version}` };
  }
  if (version < stored.version) {
    return { kind: "refuse", reason: `version ${version} is behind the stored version ${stored.version}` };
  }
  return isSame
    ? { kind: "keep", reason: `version ${version} is the stored one` }
    : {
        kind: "refuse",
        reason: `version ${version} is stored with different content; raise the version with every edit`,
      };
}
