/** Issues TLS certificates for tests with openssl, when a test needs them. This file knows no server. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Certificate = { readonly key: string; readonly cert: string }

export type Authority = {
  readonly caFile: string
  /**
   * Issues a certificate for these host names. `from` and `to` bound its validity; by default it is valid from
   * yesterday on for 30 days.
   */
  issue(names: string, validity?: { readonly from?: Date; readonly to?: Date }): Certificate
  remove(): void
}

const DAY = 86_400_000
const asText = (date: Date): string => `${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`

export function createAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'hf-certificates-'))
  const file = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '30', '-subj', '/CN=authority')
  const settings = [
    '[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\nnew_certs_dir = .\nrand_serial = yes\ndefault_md = sha256',
    'certificate = ca.pem\nprivate_key = ca.key\npolicy = any\nunique_subject = no\ncopy_extensions = copy\n[any]\ncommonName = supplied\n',
  ]
  writeFileSync(file('ca.cnf'), settings.join('\n'))
  writeFileSync(file('index.txt'), '')
  let issued = 0
  return {
    caFile: file('ca.pem'),
    issue(names, { from = new Date(Date.now() - DAY), to = new Date(Date.now() + 30 * DAY) } = {}) {
      const name = `leaf${++issued}`
      const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`]
      openssl('req', '-new', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, ...subject)
      const dates = ['-startdate', asText(from), '-enddate', asText(to)]
      openssl('ca', '-config', 'ca.cnf', '-batch', '-notext', '-in', `${name}.csr`, '-out', `${name}.pem`, ...dates)
      return { key: readFileSync(file(`${name}.key`), 'utf8'), cert: readFileSync(file(`${name}.pem`), 'utf8') }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
