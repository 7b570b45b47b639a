/** VR-TRK-10: what it takes for an interface to be up. This file does not know whose interface it is. */
import type { Link } from '../ports.ts'

/** Administratively up, and with carrier. */
export const isUp = (link: Link | undefined): boolean => link?.up === true && link.running
