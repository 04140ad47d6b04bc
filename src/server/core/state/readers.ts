/** Readers of rows. Each throws on a text that is not a row of its table. */

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

/** Reads a row of the prefix `key/`. */
export const readKey = keyRows.read;
/** Reads a row of the prefix `keyid/`: the name of the key that has the id. */
export const readKeyName = keyIdRows.read;
/** Reads a row of the prefix `susp/`. */
export const readSuspension = suspensionRows.read;
/** Reads a row of the prefix `ack/`. */
export const readAcknowledgement = acknowledgementRows.read;
/** Reads a row of the prefix `source/`. */
export const readSource = sourceRows.read;
/** Reads a row of the prefix `hist/`, including the text. */
export const readRevision = revisionRows.read;
/** Reads a row of the prefix `secret/`. */
export const readSecret = secretRows.read;
/** Reads a row of the prefix `ring/`. */
export const readRing = ringRows.read;
/** Reads a row of the prefix `cert/`. */
export const readCertificate = certificateRows.read;
/** Reads a row of the prefix `acme/`. */
export const readAcme = acmeRows.read;
/** Reads a row of the prefix `member/`. */
export const readMember = memberRows.read;
/** Reads a row `head/<node>/<kid>`. */
export const readHead = headRows.read;
/** Reads a row `head/<node>/conflict`. */
export const readHeadConflict = headConflictRows.read;
/** Reads a row of the prefix `usage/`. */
export const readUsage = usageRows.read;
/** Reads a row of the prefix `alloc/`. */
export const readHolding = holdingRows.read;
/** Reads a row of the prefix `met/`. */
export const readMetered = meteredRows.read;
/** Reads a row `used/…/names`. */
export const readUsedNames = usedNamesRows.read;
/** Reads a row of the prefix `rec/`. */
export const readLedger = ledgerRows.read;
/** Reads the row `feat/level`; the level is 1 without a row. */
export const readFeatureLevel = levelOf;
