#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# ibacm with this host's address as its only endpoint; ends with the caller.
# usage: acm.sh ADDRESS DEVICE
set -euo pipefail

folder=$(mktemp -d /run/acm.XXXXXX)
trap 'rm -rf "$folder"; kill $!' EXIT
ib_acme -O -D "$folder" >/dev/null
sed -i "s#^log_file.*#log_file stdout#; s#^lock_file.*#lock_file $folder/pid#
	s#^support_ips_in_addr_cfg.*##" "$folder/ibacm_opts.cfg"
echo "support_ips_in_addr_cfg yes" >>"$folder/ibacm_opts.cfg"
echo "$1 $2 1 default" >"$folder/ibacm_addr.cfg"
ibacm -P -A "$folder/ibacm_addr.cfg" -O "$folder/ibacm_opts.cfg" &
wait
