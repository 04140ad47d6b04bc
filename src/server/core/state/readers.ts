/** Rows as values, for those who read the state. Each throws on a text that is no row of its table. */

import { acknowledgementRows } from "./commands/acknowledgements.ts";
import { headConflictRows, headRows } from "./commands/audit.ts";
import { levelOf } from "./commands/feature.ts";
import { keyIdRows, keyRows } from "./commands/keys.ts";
import { memberRows } from "./commands/member-rows.ts";
import { ledgerRows } from "./commands/reconcile.ts";
import { acmeRows, certificateRows, ringRows, secretRows } from "./commands/sealed.ts";
import { revisionRows, sourceRows } from "./commands/source-rows.ts";
import { suspensionRows } from "./commands/suspensions.ts";
import { holdingRows, usageRows } from "./commands/usage-rows.ts";
import { meteredRows, usedNamesRows } from "./commands/used-rows.ts";

/** `key/` */
export const readKey = keyRows.read;
/** `keyid/`: the name of the key that has the id. */
export const readKeyName = keyIdRows.read;
/** `susp/` */
export const readSuspension = suspensionRows.read;
/** `ack/` */
export const readAcknowledgement = acknowledgementRows.read;
/** `source/` */
export const readSource = sourceRows.read;
/** `hist/`, with the text. */
export const readRevision = revisionRows.read;
/** `secret/` */
export const readSecret = secretRows.read;
/** `ring/` */
export const readRing = ringRows.read;
/** `cert/` */
export const readCertificate = certificateRows.read;
/** `acme/` */
export const readAcme = acmeRows.read;
/** `member/` */
export const readMember = memberRows.read;
/** `head/<node>/<kid>` */
export const readHead = headRows.read;
/** `head/<node>/conflict` */
export const readHeadConflict = headConflictRows.read;
/** `usage/` */
export const readUsage = usageRows.read;
/** `alloc/` */
export const readHolding = holdingRows.read;
/** `met/` */
export const readMetered = meteredRows.read;
/** `used/…/names` */
export const readUsedNames = usedNamesRows.read;
/** `rec/` */
export const readLedger = ledgerRows.read;
/** Reads `feat/level`; the level is 1 without a row. */
export const readFeatureLevel = levelOf;
