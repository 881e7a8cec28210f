package keygen

// A Recipe is a named key design that is in use.
type Recipe struct {
	Name  string `json:"name"`
	Spec  string `json:"spec"`  // a salt without a modulus uses the job's number of regions
	About string `json:"about"` // its purpose
}

// Recipes returns all named designs. Specs use the usual column names of the design; rename them as needed.
func Recipes() []Recipe {
	return []Recipe{
		{"check", "salt(check_id) + md5hex(check_id) + id", "all rows of a check_id side by side, query keys spread over salted regions"},
		{"check-separated", "salt(check_id) + '+' + md5hex(check_id) + '+' + id", "the same with separators"},
		{"opinion", "salt(buss_no, business_type) + md5hex(buss_no, business_type) + id", "a query key of two columns"},
		{"plain", "check_id + id", "no salt: ranges of check_id stay in order, load follows the values"},
		{"salted", "salt(key, 1000) + key", "an existing key after a salt of three digits, regions 000 to 999"},
		{"bytesalted", "bytesalt(key, 16) + key", "the same with a salt of one byte"},
		{"javasalted", "javasalt(key, 16) + key", "the same as Java's (byte) (key.hashCode() % 16) writes it, with the remainder's sign"},
		{"md5split", "md5shift(id) + '::' + id", "tables split by MD5StringSplit"},
		{"fields-hash", "spread(time, order_no, 16) + '_' + date(time, 'yyyy-MM-dd HH:mm:ss', 'yyyyMMddHHmmss') + '_' + order_no", "a hash of several fields before time and number"},
		{"latest-first", "reverse(order_no) + revtime(ts)", "the latest row of an order first"},
		{"phone", "reverse(phone)", "numbers whose first digits are alike: the last ones spread"},
		{"time-salted", "abs(mod(toshort(longhash(ts)), 9)) + '|' + ts", "a salt of the time; the remainder's sign is dropped"},
		{"events", "spread(event_id) + event_id + date(time, 'yyyy-MM-dd HH:mm:ss', 'yyyyMMdd') + offset", "two digits that look random and follow from the row"},
		{"users", "user", "the name as it is"},
		{"twits", "md5raw(user) + revtimeraw(ts)", "a user's latest first, 24 bytes"},
		{"stream", "md5raw(user) + revtimeraw(ts)", "the same for what the user follows"},
		{"follows", "md5hex(user) + md5hex(followed)", "pairs of fixed length, found by the first"},
		{"followed-by", "md5hex(followed) + md5hex(user)", "the same pairs, found by the second"},
	}
}

// FindRecipe finds a design by its name.
func FindRecipe(name string) (Recipe, bool) {
	for _, r := range Recipes() {
		if r.Name == name {
			return r, true
		}
	}
	return Recipe{}, false
}
