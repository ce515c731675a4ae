/** Whether the browser has promised to keep this app's key; null where it does not say. */
export async function isPersistent(): Promise<boolean | null> {
  return answerOf(() => navigator.storage.persisted());
}

/** Asks the browser to keep it, as a person wants; null where it does not say. */
export async function persist(): Promise<boolean | null> {
  return answerOf(() => navigator.storage.persist());
}

async function answerOf(ask: () => Promise<boolean>): Promise<boolean | null> {
  try {
    return await ask();
  } catch {
    return null;
  }
}
