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
  return transact("readonly", (store) => {
    const request: IDBRequest<Credential | undefined> = store.get(instance);
    return () => request.result ?? null;
  });
}

/** Keeps a credential, on disk and read back: only what came back counts as kept. */
export async function save(credential: Credential): Promise<void> {
  await transact("readwrite", (store) => finished(store.put(credential)));
  const kept = await load(credential.instance);
  if (kept?.token !== credential.token || kept.key.privateKey.extractable) {
    throw new StorageUnavailable("the browser did not keep the key");
  }
}

/** Forgets a credential, unless another has taken its place meanwhile; that one, if there is one. */
export function erase(credential: Credential): Promise<Credential | null> {
  return inPlaceOf(credential, (store) => {
    store.delete(credential.instance);
    return null;
  });
}

/** Keeps what has changed of a credential, unless another has taken its place meanwhile, or it was erased; what is kept now. */
export function amend(credential: Credential, change: Partial<Credential>): Promise<Credential | null> {
  return inPlaceOf(credential, (store) => {
    const changed = { ...credential, ...change };
    store.put(changed);
    return changed;
  });
}

/** Forgets a daemon's credential, whichever it is. */
async function forget(instance: string): Promise<void> {
  await transact("readwrite", (store) => finished(store.delete(instance)));
}

/** Finds out, before an offer is used up, whether the browser keeps a key at all; its place is nobody else's. */
export async function assertKeeps(credential: Credential): Promise<void> {
  await save(credential);
  await forget(credential.instance);
}

/** Acts on the place of a credential where the credential is in it still: other windows write there as well, so one transaction looks and acts. */
function inPlaceOf(credential: Credential, act: (store: IDBObjectStore) => Credential | null): Promise<Credential | null> {
  return transact("readwrite", (store) => {
    let kept: Credential | null = null;
    const request: IDBRequest<Credential | undefined> = store.get(credential.instance);
    request.onsuccess = () => {
      kept = request.result ?? null;
      if (kept?.token === credential.token) kept = act(store);
    };
    return () => kept;
  });
}

/** Nothing to tell of a request but that it is done. */
function finished(_: IDBRequest): () => void {
  return () => undefined;
}

/** Resolves with what `act` says that there is to tell, once the transaction is complete. */
async function transact<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => () => T): Promise<T> {
  try {
    const database = await open();
    try {
      const transaction = database.transaction(STORE, mode, { durability: "strict" });
      const told = act(transaction.objectStore(STORE));
      await new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error);
      });
      return told();
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
