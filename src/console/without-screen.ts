/**
 * Actions, alerts and pages of the console for commands that do the same without a screen, so that both share checks and texts.
 */

export {
  acknowledgeDialog,
  acknowledgementOf,
  liftAcknowledgementsDialog,
} from "./actions/acknowledgement-dialogs.ts";
export { mintDialog, revokeDialog, rotateDialog } from "./actions/key-dialogs.ts";
export { putSecretDialog, secretsRemovalDialog } from "./actions/secret-dialogs.ts";
export { putDocumentDialog, reloadDialog, rollbackDialog, sourceOf, whyNotWritable } from "./actions/source-dialogs.ts";
export { liftDialog, suspendDialog, suspensionOf } from "./actions/suspension-dialogs.ts";
export type { Context } from "./model/context.ts";
export { type Data, type Need, type Readable, type ReadableId, type Reading, rowsOf } from "./model/data.ts";
export type { Dialog, FieldValues } from "./model/dialog.ts";
export { keyIdIn } from "./model/key-text.ts";
export type { PageRequest } from "./model/page-request.ts";
export { type Line, textOfLine } from "./model/text.ts";
export { hasUnknownOutcome } from "./run/failure-text.ts";
export { loadPage } from "./run/load-page.ts";
export { runTask } from "./run/run-task.ts";
export { putDocument } from "./run/write-document.ts";
export { attentionNeeds, attentionOf } from "./views/attention.ts";
export { withoutAcknowledged } from "./views/attention-acknowledged.ts";
export { adviceOf } from "./views/attention-advice.ts";
export { type AttentionItem, acknowledgeableOf, alertText, SEVERITIES } from "./views/attention-item.ts";
export { readOnce } from "./watch/read-once.ts";
