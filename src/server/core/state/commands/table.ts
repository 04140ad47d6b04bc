/** Table of all commands. A process stops if it finds a command in the log that is not in this table. */

import type { CommandRule } from "../command.ts";
import { acknowledgementDelete, acknowledgementPut } from "./acknowledgements.ts";
import { auditWitness } from "./audit.ts";
import { blobPut } from "./blobs.ts";
import { acmeDelete, acmePut, certDelete, certPut } from "./certificates.ts";
import { featureSet } from "./feature.ts";
import { keyCreate, keyDelete, keyPatch, keyRotate } from "./keys.ts";
import { nodeStart } from "./members.ts";
import { reconcileDrop, reconcileForget, reconcilePut } from "./reconcile.ts";
import { stateCheck, stateRestore } from "./restore.ts";
import { ringActivate, ringAdd, ringDrop, ringRewrap, secretDelete, secretPut, secretReseal } from "./secrets.ts";
import { sourceDelete, sourcePut, sourceRollback } from "./sources.ts";
import { suspensionDelete, suspensionPut } from "./suspensions.ts";
import { usageReport } from "./usage.ts";
import { usedAdd } from "./usage-increments.ts";

const RULES: readonly CommandRule[] = [
  nodeStart,
  keyCreate,
  keyPatch,
  keyDelete,
  keyRotate,
  suspensionPut,
  suspensionDelete,
  acknowledgementPut,
  acknowledgementDelete,
  sourcePut,
  sourceDelete,
  sourceRollback,
  blobPut,
  secretPut,
  secretDelete,
  secretReseal,
  ringAdd,
  ringActivate,
  ringRewrap,
  ringDrop,
  usageReport,
  usedAdd,
  reconcilePut,
  reconcileDrop,
  reconcileForget,
  certPut,
  certDelete,
  acmePut,
  acmeDelete,
  auditWitness,
  featureSet,
  stateCheck,
  stateRestore,
];

export const COMMAND_RULES: ReadonlyMap<string, CommandRule> = new Map(RULES.map((rule) => [rule.name, rule]));

/** Functions that create each command, with typed fields. */
export const commands = {
  nodeStart: nodeStart.make,
  keyCreate: keyCreate.make,
  keyPatch: keyPatch.make,
  keyDelete: keyDelete.make,
  keyRotate: keyRotate.make,
  suspensionPut: suspensionPut.make,
  suspensionDelete: suspensionDelete.make,
  acknowledgementPut: acknowledgementPut.make,
  acknowledgementDelete: acknowledgementDelete.make,
  sourcePut: sourcePut.make,
  sourceDelete: sourceDelete.make,
  sourceRollback: sourceRollback.make,
  blobPut: blobPut.make,
  secretPut: secretPut.make,
  secretDelete: secretDelete.make,
  secretReseal: secretReseal.make,
  ringAdd: ringAdd.make,
  ringActivate: ringActivate.make,
  ringRewrap: ringRewrap.make,
  ringDrop: ringDrop.make,
  usageReport: usageReport.make,
  usedAdd: usedAdd.make,
  reconcilePut: reconcilePut.make,
  reconcileDrop: reconcileDrop.make,
  reconcileForget: reconcileForget.make,
  certPut: certPut.make,
  certDelete: certDelete.make,
  acmePut: acmePut.make,
  acmeDelete: acmeDelete.make,
  auditWitness: auditWitness.make,
  featSet: featureSet.make,
  stateCheck: stateCheck.make,
  stateRestore: stateRestore.make,
} as const;

/** Returns whether the command may be proposed at this feature level. */
export function mayPropose(
  name: string,
  level: number,
  rules: ReadonlyMap<string, CommandRule> = COMMAND_RULES,
): boolean {
  const rule = rules.get(name);
  return rule !== undefined && rule.level <= level;
}
