/**
 * Decides what to do with a deployment document when another one is stored, by the table of spec document 1, States and
 * transitions.
 *
 * The caller passes digests; equal digests mean equal content. A document's version is compared with that of the stored one or,
 * if that has none, with the highest version that was applied before it (design decisions, section 20). It is unknown whether a
 * document without a version is newer, so it waits at a start and is applied when an operator reloads.
 */

export interface Edition {
  readonly version?: number;
  /** Highest version that was applied before this stored edition, if it has no version itself. */
  readonly highest?: number;
  readonly digest: string;
}

/** Returns the minimum version of a document; `undefined` if the stored source never had a version. */
export const versionBound = ({ version, highest }: Edition): number | undefined => version ?? highest;

interface ApplyQuestion {
  readonly trigger: "start" | "reload";
  /** Stored edition; `undefined` while the cluster has stored nothing. */
  readonly stored: Edition | undefined;
  readonly document: Edition;
}

/** Decision. `keep`: both are equal. `wait`: a reload would apply the document. `refuse`: the document must be edited. */
export interface ApplyDecision {
  readonly kind: "apply" | "keep" | "refuse" | "wait";
  readonly reason: string;
}

export function decideApply({ trigger, stored, document }: ApplyQuestion): ApplyDecision {
  if (stored === undefined)
    return { kind: "apply", reason: "nothing is stored yet, so the document becomes the first revision" };
  const isSame = stored.digest === document.digest;
  const { version } = document;

  if (version === undefined) {
    if (isSame) return { kind: "keep", reason: "the document is the stored one" };
    return trigger === "reload"
      ? { kind: "apply", reason: "a reload was requested, and the document has no version to compare" }
      : {
          kind: "wait",
          reason: "the document differs from the stored one and has no version; `gateway config reload` applies it",
        };
  }
  const bound = versionBound(stored);
  if (bound === undefined) {
    return { kind: "apply", reason: `the document has version ${version}, the stored one has none` };
  }
  if (stored.version === undefined) {
    const before = "that was applied before the stored document, which has none";
    return version > bound
      ? { kind: "apply", reason: `version ${version} is newer than version ${bound}, the highest ${before}` }
      : {
          kind: "refuse",
          reason: `version ${version} is not above version ${bound}, the highest ${before}; raise the version with every edit`,
        };
  }
  if (version > stored.version) {
    return { kind: "apply", reason: `version ${version} is newer than the stored version ${stored.version}` };
  }
  if (version < stored.version) {
    return { kind: "refuse", reason: `version ${version} is lower than the stored version ${stored.version}` };
  }
  return isSame
    ? { kind: "keep", reason: `version ${version} is the stored one` }
    : {
        kind: "refuse",
        reason: `version ${version} is stored with different content; raise the version with every edit`,
      };
}
