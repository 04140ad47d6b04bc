/** Pages built from answers: pure functions from an answer to lines. */

export { differencePage, type Names } from "./difference.ts";
export { documentPage } from "./document.ts";
export { previewPage, refusalPage } from "./preview.ts";
