/** Page of the events of the audit trail. */

import { AUDIT_EVENT_RULES } from "../../../src/admin-api/index.ts";
import { auditRecord } from "../../../src/admin-api/operations/audit.ts";
import { typeWords } from "./admin-pages.ts";
import { code, type Page, prose, sentence, table } from "./page.ts";

export function auditPage(): Page {
  const members = Object.entries(auditRecord.keys).map(([name, { json }]) => [
    code(name),
    typeWords(json),
    sentence(String(json["description"] ?? "")),
  ]);
  const events = Object.entries(AUDIT_EVENT_RULES).map(([name, { when, data }]) => {
    const rows = Object.entries(data).map(([member, meaning]) => [code(member), prose(meaning)]);
    return `### ${code(name)}\n\n${prose(when)}\n\n${table(["Member of `data`", "Meaning"], rows)}`;
  });
  return {
    path: "audit-events.md",
    title: "Audit events",
    order: 9,
    about: "Every event of the audit trail, with the members of its record.",
    body: [
      "A record is one line of JSON on stdout. It never contains a prompt, matched text, a credential or the value of a header. A member that does not apply is null or absent.",
      "## Members of a record",
      table(["Member", "Type", "Description"], members),
      "## Events",
      ...events,
    ].join("\n\n"),
  };
}
