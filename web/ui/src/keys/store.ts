/** What this browser holds to be a device of one daemon. */
export interface Credential {
  /** The daemon's lasting id; one origin such as `localhost:7443` may lead to several. */
  instance: string;
  deviceId: string;
  /** The device token. */
  token: string;
  label: string;
  role: Role;
  /** The device key; its private half cannot leave the browser. */
  key: CryptoKeyPair;
  /** The request that has yet to be committed; null once the daemon has stored the device. */
  uncommitted: string | null;
}

/** What a device may do. */
export type Role = "viewer" | "operator";

/** The browser does not keep what it is given: private mode, storage switched off, or full. */
export class StorageUnavailable extends Error {
  override readonly name = "StorageUnavailable";
}

/** The credential for a daemon; null if there is none. */
export async function load(instance: string): Promise<Credential | null> {
  const found = await transact<Credential | undefined>("readonly", (store) => store.get(instance));
  return found ?? null;
}

/** Keeps a credential, on disk and read back: only what came back counts as kept. */
export async function save(credential: Credential): Promise<void> {
  await transact("readwrite", (store) => store.put(credential));
  const kept = await load(credential.instance);
  if (kept?.token !== credential.token || kept.key.privateKey.extractable) {
    throw new StorageUnavailable("the browser did not keep the key");
  }
}

/** Forgets a daemon's credential. */
export async function erase(instance: string): Promise<void> {
  await transact("readwrite", (store) => store.delete(instance));
}

/** Finds out, before an offer is used up, whether the browser keeps a key at all. */
export async function assertKeeps(credential: Credential): Promise<void> {
  await save(credential);
  await erase(credential.instance);
}

async function transact<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest): Promise<T> {
  try {
    const database = await open();
    try {
      const transaction = database.transaction(STORE, mode, { durability: "strict" });
      const request = act(transaction.objectStore(STORE));
      await new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error);
      });
      return request.result as T;
    } finally {
      database.close();
    }
  } catch (cause) {
    throw new StorageUnavailable("the browser's storage does not work", { cause });
  }
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, VERSION);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "instance" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("blocked by another tab"));
  });
}

const DATABASE = "transom";
const STORE = "credentials";
const VERSION = 1;
