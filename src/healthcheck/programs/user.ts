/**
 * Finds a user of this node by name or number. This file decides that /etc/passwd is the only source, because a
 * directory service may be behind the VIP that is checked.
 */
import { readFile } from 'node:fs/promises'

export type User = { readonly uid: number; readonly gid: number }

const DATABASE = '/etc/passwd'

/**
 * Returns the user with this name or number. A number needs no entry in the database; without an entry, the group has
 * the same number as the user.
 */
export async function userNamed(name: string, database = DATABASE): Promise<User | 'missing'> {
  const number = /^\d+$/.test(name) ? Number(name) : undefined
  let text = ''
  try {
    text = await readFile(database, 'utf8')
  } catch {
    // A container image may lack /etc/passwd. Without this file only numbers are accepted as users.
  }
  for (const line of text.split('\n')) {
    const [entry, , uid, gid] = line.split(':')
    if (uid === undefined || gid === undefined || uid === '' || gid === '') continue
    if (number === undefined ? entry === name : Number(uid) === number) return { uid: Number(uid), gid: Number(gid) }
  }
  return number === undefined ? 'missing' : { uid: number, gid: number }
}
