/** Answers `/v1/files` of both dialects. Each dialect has its own files. */

import { Refused } from "../dialect-errors.ts";
import { fieldOf, filesOf } from "../parse-form.ts";
import { type Answer, idOf, json, type RoutedCall } from "../route-types.ts";
import { compatPage, messagesPage } from "./list-pages.ts";
import type { StoredObjects, UploadedFile } from "./stored-objects.ts";

const PURPOSES = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"];

export function answerFileUpload({ form, dialect, serial, now, stored }: RoutedCall): Answer {
  const part = filesOf(form)[0];
  if (part === undefined) throw new Refused(400, "file is required.", "file");
  const isCompat = dialect === "compat";
  const purpose = fieldOf(form, "purpose");
  if (isCompat && purpose === undefined) {
    throw new Refused(400, "Missing required parameter: 'purpose'.", "purpose", "missing_required_parameter");
  }
  if (isCompat && !PURPOSES.includes(purpose ?? "")) {
    const names = PURPOSES.map((each) => `'${each}'`).join(", ");
    throw new Refused(
      400,
      `Invalid value: '${purpose?.slice(0, 64)}'. Supported values are: ${names}.`,
      "purpose",
      "invalid_value",
    );
  }
  const file: UploadedFile = {
    id: idOf(isCompat ? "file-" : "file_", serial),
    dialect,
    filename: part.filename ?? "",
    purpose: isCompat ? (purpose ?? "") : "",
    mimeType: part.contentType ?? "application/octet-stream",
    createdAt: now,
    // Copied, since a slice would keep the whole request in memory.
    content: Buffer.from(part.content),
  };
  storeFile(stored, file);
  return json(JSON.stringify(fileJson(file)));
}

export function storeFile(stored: StoredObjects, file: UploadedFile): void {
  stored.files.put(file.id, file, file.content.length);
}

export function fileJson({ id, dialect, filename, purpose, mimeType, createdAt, content }: UploadedFile) {
  const bytes = content.length;
  if (dialect === "compat") {
    return { id, object: "file", bytes, created_at: createdAt, filename, purpose, status: "processed" };
  }
  const created_at = new Date(createdAt * 1_000).toISOString();
  return { id, type: "file", filename, mime_type: mimeType, size_bytes: bytes, created_at, downloadable: false };
}

export function listFiles({ dialect, stored, query }: RoutedCall): Answer {
  const purpose = query.get("purpose");
  const files = stored.files.values().filter((file) => file.dialect === dialect);
  const wanted = purpose === null ? files : files.filter((file) => file.purpose === purpose);
  const shown = wanted.map(fileJson);
  return dialect === "compat" ? compatPage(shown, query, 10_000, 10_000) : messagesPage(shown, query);
}

export function answerFile(call: RoutedCall): Answer {
  return json(JSON.stringify(fileJson(fileOf(call))));
}

export function answerFileContent(call: RoutedCall): Answer {
  const { dialect, content, mimeType } = fileOf(call);
  // Only files that the provider's tools wrote can be downloaded.
  if (dialect === "messages") throw new Refused(400, "This file is not downloadable.");
  return { kind: "body", contentType: mimeType, body: content, tokens: { input: 0, output: 0 } };
}

export function deleteFile(call: RoutedCall): Answer {
  const { id, dialect } = fileOf(call);
  call.stored.files.remove(id);
  return json(
    JSON.stringify(dialect === "compat" ? { id, object: "file", deleted: true } : { id, type: "file_deleted" }),
  );
}

function fileOf({ dialect, stored, params: { id = "" } }: RoutedCall): UploadedFile {
  return findFile(stored, id, dialect);
}

export function findFile(
  stored: StoredObjects,
  id: string,
  dialect: UploadedFile["dialect"] = "compat",
  param = "id",
): UploadedFile {
  const file = stored.files.get(id);
  if (file?.dialect === dialect) return file;
  throw new Refused(404, `No such File object: ${id.slice(0, 64)}`, param, null);
}
