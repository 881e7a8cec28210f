package valuetext

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var javaOffset = regexp.MustCompile(`^(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?$`)

// javaZone returns a time zone by its name in Java. A zone whose local time before 1900 is uncertain is an error.
func javaZone(name string) (*time.Location, error) {
	if slices.Contains(disputed(), name) {
		return nil, errors.New("databases of time zones do not agree on its local time before 1900")
	}
	return anyJavaZone(name)
}

// anyJavaZone returns a time zone by its name in Java: Asia/Shanghai, UTC, +08:00, GMT+8.
func anyJavaZone(name string) (*time.Location, error) {
	if name == "Z" || name == "UT" {
		return time.UTC, nil
	}
	if m := javaOffset.FindStringSubmatch(name); m != nil {
		seconds := 0
		for _, digits := range m[2:] {
			n, _ := strconv.Atoi(digits) // digits, or nothing
			seconds = 60*seconds + n
		}
		if m[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone(name, seconds), nil
	}
	if name == "" || name == "Local" {
		return nil, errors.New("the zone is not known")
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the zone is not known: %w", err)
	}
	return l, nil
}

func disputed() []string { return strings.Fields(disputedZones) }

// disputedZones lists the zones whose local time before 1900, or whose standard offset, differs between Spark's tables, Go's time
// zone database and Debian's. Some databases link such a zone to a neighbour, and others have changed it since.
const disputedZones = "" +
	"Africa/Accra Africa/Addis_Ababa Africa/Asmara Africa/Bamako Africa/Bangui Africa/Banjul Africa/Blantyre Africa/Brazzaville " +
	"Africa/Bujumbura Africa/Conakry Africa/Dakar Africa/Dar_es_Salaam Africa/Djibouti Africa/Douala Africa/Freetown Africa/Gaborone " +
	"Africa/Harare Africa/Kampala Africa/Kigali Africa/Kinshasa Africa/Libreville Africa/Lome Africa/Luanda Africa/Lubumbashi Africa/Lusaka " +
	"Africa/Malabo Africa/Maputo Africa/Maseru Africa/Mbabane Africa/Mogadishu Africa/Niamey Africa/Nouakchott Africa/Ouagadougou " +
	"Africa/Porto-Novo America/Anguilla America/Antigua America/Aruba America/Asuncion America/Atikokan America/Blanc-Sablon America/Cayman " +
	"America/Chihuahua America/Creston America/Curacao America/Dominica America/Godthab America/Grenada America/Guadeloupe America/Matamoros " +
	"America/Montserrat America/Nassau America/Nipigon America/Nuuk America/Ojinaga America/Port_of_Spain America/Rainy_River " +
	"America/Scoresbysund America/St_Kitts America/St_Lucia America/St_Thomas America/St_Vincent America/Thunder_Bay America/Tortola " +
	"America/Yellowknife Antarctica/Casey Antarctica/DumontDUrville Antarctica/McMurdo Antarctica/Syowa Antarctica/Vostok Asia/Aden " +
	"Asia/Almaty Asia/Amman Asia/Bahrain Asia/Brunei Asia/Choibalsan Asia/Damascus Asia/Kuala_Lumpur Asia/Kuwait Asia/Manila Asia/Muscat " +
	"Asia/Phnom_Penh Asia/Qostanay Asia/Vientiane Atlantic/Reykjavik Atlantic/St_Helena CET CST6CDT EET EST EST5EDT Europe/Amsterdam " +
	"Europe/Copenhagen Europe/Guernsey Europe/Isle_of_Man Europe/Jersey Europe/Ljubljana Europe/Luxembourg Europe/Monaco Europe/Oslo " +
	"Europe/Sarajevo Europe/Skopje Europe/Stockholm Europe/Uzhgorod Europe/Vaduz Europe/Zagreb Europe/Zaporozhye HST Indian/Antananarivo " +
	"Indian/Christmas Indian/Cocos Indian/Comoro Indian/Kerguelen Indian/Mahe Indian/Mayotte Indian/Reunion MET MST MST7MDT PST8PDT " +
	"Pacific/Chuuk Pacific/Funafuti Pacific/Majuro Pacific/Midway Pacific/Pohnpei Pacific/Saipan Pacific/Wake Pacific/Wallis WET "
