/**
 * Encrypts reasoning that a client keeps. It is bound to the caller, to the form and maker of the model that answered, and to the
 * model name sent to the provider. A text with any other binding cannot be opened, so that nobody can forge the assistant's
 * reasoning. Source: Responses reference, 5.3 (AES-256-GCM, HKDF-SHA256); design decisions, section 18.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Form, ReasoningSeal, SealedBlock } from "../../core/dialects/index.ts";

export interface SealKey {
  /** Id of 1 to 8 characters of `[A-Za-z0-9]` that reveal nothing about the key. */
  readonly id: string;
  /** Key of 32 bytes. */
  readonly key: Uint8Array;
}

interface SealKeys {
  readonly current: SealKey;
  /** Current key and the keys that it replaced. */
  readonly all: readonly SealKey[];
}

export interface SealBinding {
  readonly caller: string;
  readonly form: Form;
  readonly maker: string;
  /** Model name sent to the provider. */
  readonly model: string;
}

export type CreateReasoningSeal = (binding: SealBinding) => ReasoningSeal;

const PREFIX = "gwr1.";
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** Maximum length of sealed text. No real reasoning is as long, so a longer text was not sealed here. */
const MAX_SEALED_LENGTH = 4 << 20;

/**
 * Derives the keys. `material`: keys of the deployment. If it is `undefined`, a random key is used and sealed text can only be
 * opened until this process ends.
 */
export function sealKeysOf(material: readonly SealKey[] | undefined): SealKeys {
  const sealKeys = material?.length ? material : [{ id: "process", key: randomBytes(KEY_BYTES) }];
  const all = sealKeys.map(({ id, key }) => ({
    id: id.replaceAll(/[^A-Za-z0-9]/g, "").slice(-8),
    key: new Uint8Array(hkdfSync("sha256", key, "", "responses-reasoning/v1", KEY_BYTES)),
  }));
  return { current: all[0] as SealKey, all };
}

export function createSealFactory({ current, all }: SealKeys): CreateReasoningSeal {
  const byId = new Map(all.map((it) => [it.id, it.key]));
  return (binding) => ({
    seal(blocks) {
      const head = `${PREFIX}${current.id}.`;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, current.key, nonce).setAAD(additionalData(head, binding));
      const text = Buffer.concat([nonce, cipher.update(JSON.stringify(blocks)), cipher.final(), cipher.getAuthTag()]);
      return head + text.toString("base64url");
    },
    open(sealed) {
      if (sealed.length > MAX_SEALED_LENGTH || !sealed.startsWith(PREFIX)) return undefined;
      const end = sealed.indexOf(".", PREFIX.length);
      const key = byId.get(sealed.slice(PREFIX.length, end));
      if (end < 0 || key === undefined) return undefined;
      return decrypt(
        Buffer.from(sealed.slice(end + 1), "base64url"),
        key,
        additionalData(sealed.slice(0, end + 1), binding),
      );
    },
  });
}

function decrypt(text: Buffer, key: Uint8Array, bound: Buffer): readonly SealedBlock[] | undefined {
  if (text.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(CIPHER, key, text.subarray(0, NONCE_BYTES)).setAAD(bound);
  decipher.setAuthTag(text.subarray(-TAG_BYTES));
  try {
    const plain = Buffer.concat([decipher.update(text.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    // The text is authenticated, so its content has the type that was sealed.
    return JSON.parse(plain.toString("utf8")) as readonly SealedBlock[];
  } catch {
    return undefined; // modified, or bound to another caller, form, maker or model
  }
}

function additionalData(head: string, { caller, form, maker, model }: SealBinding): Buffer {
  return Buffer.from(JSON.stringify([head, caller, form, maker, model]));
}
